//! How many exchanges with each server are open, so that none waits behind event streams that never end.
//!
//! Over HTTP/2 all exchanges with a server share one connection, and the server says how many of them it takes at once.
//! What is above that would wait until another one ends, which an event stream may never do. So there are several lanes,
//! each with a connection of its own, and an exchange takes the first one that has room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::uri::Authority;

/// How many lanes there are. Beyond them each exchange gets a connection of its own.
pub(crate) const LANES: usize = 8;

/// How many exchanges are open in a lane at most, where the server takes as many.
const STREAMS: u32 = 50;

/// The same as long as nobody knows how many the server takes.
const STREAMS_AT_FIRST: u32 = 8;

/// Of how many servers it is known how many are open.
const SERVERS: usize = 1_000;

/// The exchanges that are open with servers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streams(Arc<Mutex<HashMap<Authority, Open>>>);

#[derive(Debug)]
struct Open {
    limit: u32,
    n_open: [u32; LANES],
}

/// What the place of an exchange is.
#[derive(Debug)]
pub(crate) struct Place {
    streams: Streams,
    server: Authority,
    pub(crate) lane: usize,
}

impl Streams {
    fn servers(&self) -> MutexGuard<'_, HashMap<Authority, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for an exchange in the first lane that has room. `None` where no lane has.
    pub(crate) fn take(&self, server: &Authority) -> Option<Place> {
        let mut servers = self.servers();
        let open = known(&mut servers, server)?;
        let lane = open.n_open.iter().position(|n_open| *n_open < open.limit)?;
        if let Some(n_open) = open.n_open.get_mut(lane) {
            *n_open += 1;
        }
        Some(Place { streams: self.clone(), server: server.clone(), lane })
    }

    /// A server speaks HTTP/2 and takes so many exchanges at once.
    pub(crate) fn takes(&self, server: &Authority, n_streams: u32) {
        if let Some(open) = known(&mut self.servers(), server) {
            // Who takes none for now may take some later.
            open.limit = n_streams.clamp(1, STREAMS);
        }
    }

    /// A server speaks HTTP/1.1, in which each exchange has a connection to itself anyway.
    pub(crate) fn shares_nothing(&self, server: &Authority) {
        if let Some(open) = known(&mut self.servers(), server) {
            open.limit = u32::MAX;
        }
    }
}

fn known<'a>(servers: &'a mut HashMap<Authority, Open>, server: &Authority) -> Option<&'a mut Open> {
    if !servers.contains_key(server) {
        if servers.len() >= SERVERS {
            servers.retain(|_, open| open.n_open.iter().any(|n_open| *n_open > 0));
        }
        if servers.len() >= SERVERS {
            return None;
        }
        servers.insert(server.clone(), Open { limit: STREAMS_AT_FIRST, n_open: [0; LANES] });
    }
    servers.get_mut(server)
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut servers = self.streams.servers();
        if let Some(n_open) = servers.get_mut(&self.server).and_then(|open| open.n_open.get_mut(self.lane)) {
            *n_open = n_open.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(places: &[Option<Place>]) -> Vec<Option<usize>> {
        places.iter().map(|place| place.as_ref().map(|place| place.lane)).collect()
    }

    #[test]
    fn an_exchange_takes_the_first_lane_with_room_and_gives_its_place_back() {
        let (streams, server) = (Streams::default(), Authority::from_static("a.example"));
        streams.takes(&server, 2);
        let mut places: Vec<_> = (0..2 * LANES + 1).map(|_| streams.take(&server)).collect();
        assert_eq!(lanes(&places[..5]), [Some(0), Some(0), Some(1), Some(1), Some(2)]);
        assert!(places[2 * LANES].is_none(), "no lane has room");
        assert_eq!(streams.take(&Authority::from_static("b.example")).map(|place| place.lane), Some(0));
        places[1] = None;
        assert_eq!(streams.take(&server).map(|place| place.lane), Some(0));
    }

    #[test]
    fn what_a_server_takes_decides_how_many_share_a_lane() {
        let server = Authority::from_static("a.example");
        let settings: [(&dyn Fn(&Streams), usize); 5] = [
            (&|_| (), STREAMS_AT_FIRST as usize),
            (&|streams| streams.takes(&server, 3), 3),
            (&|streams| streams.takes(&server, 0), 1),
            (&|streams| streams.takes(&server, 1_000), STREAMS as usize),
            (&|streams| streams.shares_nothing(&server), 200),
        ];
        for (number, (set, expected)) in settings.into_iter().enumerate() {
            let streams = Streams::default();
            set(&streams);
            let places: Vec<_> = (0..200).map(|_| streams.take(&server)).collect();
            let n_first = lanes(&places).iter().filter(|lane| **lane == Some(0)).count();
            assert_eq!(n_first, expected, "{number}");
        }
    }

    #[test]
    fn servers_that_nobody_uses_are_forgotten() {
        let streams = Streams::default();
        let of = |number: usize| format!("{number}.example").parse().unwrap();
        let used = streams.take(&of(0));
        (1..3 * SERVERS).for_each(|number| drop(streams.take(&of(number))));
        assert!(streams.servers().len() <= SERVERS && streams.servers().contains_key(&of(0)));
        drop(used);
    }
}
