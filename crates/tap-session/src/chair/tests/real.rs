//! Chairs in the place of real peers, in captured traffic.

use tap_frame::{Frame, Stream};

use super::*;
use crate::captures::{captures, follow};

fn of(stream: Stream) -> impl Fn(&&Frame) -> bool {
    move |frame| frame.stream == stream
}

#[test]
fn a_server_serves_what_real_clients_ask() {
    let mut n_requests = 0;
    for capture in captures() {
        let options = ServerOptions { capabilities: SERVER.into(), ..ServerOptions::default() };
        let (mut server, mut witness) = (Server::new(options).unwrap(), Witness::default());
        let mut opened = None;
        for frame in capture.frames.iter().filter(of(Stream::ToServer)) {
            witness.see(Side::Client, &frame.bytes);
            server.step(Input::Line(frame.bytes.clone()), frame.at_ns);
            while let Some(output) = server.poll_output() {
                match output {
                    Output::Send(message) => check_said(&mut witness, Side::Server, &message),
                    Output::Request(request) => {
                        n_requests += 1;
                        let reply = ErrorReply::new(-32603, "this is a test");
                        server.fail(request.request, &reply, frame.at_ns).unwrap();
                    }
                    Output::Opened { revision } => opened = Some(revision),
                    _ => {}
                }
            }
        }
        // Some clients go away after a probe, or were told by their server to speak something else.
        let (followed, _) = follow(&capture);
        let agreed = followed.state().asked_revision.as_deref().and_then(Revision::from_text);
        if let (Some(opened), Some(agreed)) = (opened, agreed) {
            assert!(opened == agreed || opened == Revision::LATEST_LEGACY, "{}: {opened}, {agreed}", capture.name);
        }
        let waits: Vec<_> = server.state().in_flight().iter().map(|call| call.method.to_string()).collect();
        assert!(waits.iter().all(|method| method == "subscriptions/listen"), "{}: {waits:?}", capture.name);
    }
    println!("{n_requests} requests of real clients were given out");
}

#[test]
fn a_client_opens_sessions_with_real_servers_as_an_sdk_does_that_probes() {
    // The Python SDK counts its ids as the chair does, so that the servers' answers fit.
    for capture in captures().iter().filter(|capture| capture.name.starts_with("stdio-py2-auto--")) {
        let mut client = Client::new(ClientOptions::default());
        client.open(0).unwrap();
        for frame in capture.frames.iter().filter(of(Stream::ToClient)) {
            client.step(Input::Line(frame.bytes.clone()), frame.at_ns);
        }
        let (followed, _) = follow(capture);
        assert_eq!(client.revision(), followed.state().revision, "{}", capture.name);
    }
}
