//! `mcp-tap ask`: one question to a model, without tools: to see whether it can be reached.

use std::io::Write;

use serde_json::json;
use tap_models::{ModelEvent, ModelFailure, ModelRequest, ModelTurn, Part, Turn, Usage};

use super::stop::Stop;
use crate::arguments::{Ask, Global};
use crate::failure::{Failure, NO};
use crate::model::{Heard, HttpModel, Model};
use crate::output::Output;
use crate::recording::say;
use crate::text::shown;

pub(crate) fn ask(global: &Global, ask: &Ask) -> Result<u8, Failure> {
    let model = HttpModel::new(&ask.model)?;
    let cannot = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let mut output = Output::new(global);
    let asked = runtime.block_on(async {
        let mut stop = Stop::new().map_err(cannot)?;
        tokio::select! {
            answer = answer(global, ask, &model, &mut output) => answer,
            () = stop.asked() => Err(Failure::new("stopped before the answer was there")),
        }
    });
    let turn = asked?;
    if ask.json {
        output.json(&json!({
            "done": turn.stop.name(), "provider": model.format().name(), "calls": calls(&turn), "text": turn.text, "input_tokens": turn.usage.map(|usage| usage.input_tokens),
            "output_tokens": turn.usage.map(|usage| usage.output_tokens),
            "cost": cost(ask, turn.usage),
        }))?;
    } else {
        writeln!(output)?;
    }
    output.finish()?;
    if let Some(usage) = turn.usage.filter(|_| !global.quiet && !ask.json) {
        let cost = cost(ask, Some(usage)).map(|cost| format!(", {cost:.4}")).unwrap_or_default();
        say(&format!("{} tokens in, {} out{cost}", usage.input_tokens, usage.output_tokens));
    }
    Ok(if turn.stop == tap_models::Stop::End { 0 } else { NO })
}

/// The calls that it makes all the same, each with its arguments or what is wrong with it.
fn calls(turn: &ModelTurn) -> Vec<serde_json::Value> {
    let calls = turn.calls.iter().map(|call| match call {
        Ok(call) => json!({ "name": call.name, "arguments": call.arguments }),
        Err(wrong) => json!({ "wrong": wrong.to_string() }),
    });
    calls.collect()
}

fn cost(ask: &Ask, usage: Option<Usage>) -> Option<f64> {
    Some(ask.model.prices()?.cost(usage?))
}

async fn answer(global: &Global, ask: &Ask, model: &dyn Model, output: &mut Output) -> Result<ModelTurn, Failure> {
    let turns = [Turn::User(vec![Part::Text(ask.question.clone())])];
    let request = ModelRequest {
        system: ask.system.as_deref().unwrap_or_default(),
        output_limit_tokens: ask.output_limit,
        ..ModelRequest::new(model.name(), &turns)
    };
    // The output may be waited for, and is not there for other threads: what is heard waits in between.
    let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let mut listener = move |event: Heard<'_>| {
        let line = match event {
            Heard::Event(ModelEvent::TextDelta(text)) => Line::Text(text.clone()),
            Heard::Retry { failure, wait } => Line::Retry(failure.clone(), wait.as_secs_f64()),
            Heard::Sent(body) => Line::Sent(body.to_owned()),
            Heard::Received(bytes) => Line::Received(String::from_utf8_lossy(bytes).into_owned()),
            Heard::Event(_) => return,
        };
        let _ = said.send(line);
    };
    let mut answer = model.ask(request, &mut listener);
    let answer = loop {
        tokio::select! {
            // What was heard comes before the end.
            biased;
            Some(line) = heard.recv() => print(global, ask, output, line)?,
            answer = &mut answer => break answer,
        }
    };
    while let Ok(line) = heard.try_recv() {
        print(global, ask, output, line)?;
    }
    answer.map_err(|failure| {
        let _ = output.flush();
        Failure::new(failure.to_string())
    })
}

/// What is told while the answer comes.
enum Line {
    Sent(String),
    Received(String),
    Text(String),
    Retry(ModelFailure, f64),
}

fn print(global: &Global, ask: &Ask, output: &mut Output, line: Line) -> Result<(), Failure> {
    match line {
        Line::Sent(body) if ask.json => output.json_with_verbatim(&format!("{{\"sent\":{body}}}"))?,
        Line::Received(text) if ask.json => output.json(&json!({ "received": text }))?,
        Line::Sent(_) | Line::Received(_) => return Ok(()),
        Line::Text(text) if ask.json => output.json(&json!({ "text": text }))?,
        Line::Text(text) => write!(output, "{}", shown(&text, true))?,
        Line::Retry(failure, wait) if ask.json => {
            output.json(&json!({ "retry": failure.to_string(), "wait_seconds": wait }))?;
        }
        Line::Retry(failure, wait) if !global.quiet => say(&format!("{failure}; tried again in {wait:.1} s")),
        Line::Retry(..) => {}
    }
    output.flush()?;
    Ok(())
}
