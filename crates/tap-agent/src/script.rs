//! A script: what a model is to say, turn by turn, for tests and demonstrations. TOML.
//!
//! ```toml
//! [[turn]]
//! expect = ["weather"]                    # texts that what the model is told in this turn has to hold
//! text = "I will look."
//! [[turn.calls]]
//! name = "demo__forecast"
//! arguments = { city = "Beijing" }
//!
//! [[turn]]
//! text = "Rain."
//! ```

use serde_json::{Map, Value};
use tap_models::{Call, ModelTurn, Part, Stop, Turn, Usage};
use toml_edit::{Document, Item, TableLike, Value as Toml};

/// What a model is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    turns: Vec<ScriptedTurn>,
    n_said: usize,
}

/// One turn of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedTurn {
    /// Texts that what was told last has to hold.
    pub expect: Vec<String>,
    /// What is said.
    pub turn: ModelTurn,
}

/// Why there is no turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It is no TOML, or something in it is wrong.
    #[error("{0}")]
    Wrong(String),
    /// All was said.
    #[error("the script has {0} turns, and the model was asked once more")]
    Over(usize),
    /// The model was told something else than the script expects.
    #[error("turn {turn} of the script expects `{expected}`, and the model was told: {told}")]
    Unexpected {
        /// Which turn, from 1.
        turn: usize,
        /// The text that is missing.
        expected: String,
        /// What was told.
        told: String,
    },
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    ///
    /// When something in it is wrong, with its place.
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        let wrong = |what: String| ScriptError::Wrong(what);
        let document =
            Document::parse(text).map_err(|error| wrong(format!("it is no TOML: {}", error.to_string().trim())))?;
        if let Some((key, _)) = document.iter().find(|(key, _)| *key != "turn") {
            return Err(wrong(format!("`{key}` is not known; a script has [[turn]] alone")));
        }
        let tables = document.get("turn").and_then(Item::as_array_of_tables);
        let tables = tables.ok_or_else(|| wrong("it has no turns: each begins with [[turn]]".into()))?;
        let turns = tables
            .iter()
            .enumerate()
            .map(|(index, table)| scripted(table).map_err(|what| wrong(format!("turn {}: {what}", index + 1))));
        Ok(Self { turns: turns.collect::<Result<_, _>>()?, n_said: 0 })
    }

    /// What the model says next, after these turns.
    ///
    /// # Errors
    ///
    /// When all was said, or something else is expected.
    pub fn say(&mut self, turns: &[Turn]) -> Result<ModelTurn, ScriptError> {
        let next = self.turns.get(self.n_said).ok_or(ScriptError::Over(self.turns.len()))?;
        let told = turns.last().map(told).unwrap_or_default();
        if let Some(expected) = next.expect.iter().find(|expected| !told.contains(expected.as_str())) {
            return Err(ScriptError::Unexpected { turn: self.n_said + 1, expected: expected.clone(), told });
        }
        self.n_said += 1;
        Ok(next.turn.clone())
    }

    /// Whether all was said.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.turns.len() <= self.n_said
    }
}

/// What a turn tells the model, as a text.
fn told(turn: &Turn) -> String {
    let parts: Vec<String> = match turn {
        Turn::User(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Resource { uri, text } => format!("{uri}: {text}"),
                Part::Image { media_type, .. } => media_type.clone(),
            })
            .collect(),
        Turn::Model(turn) => vec![turn.text.clone()],
        Turn::Results(results) => {
            results.iter().map(|(_, result)| String::from_utf8_lossy(result).into_owned()).collect()
        }
    };
    parts.join("\n")
}

fn scripted(table: &dyn TableLike) -> Result<ScriptedTurn, String> {
    const KEYS: [&str; 6] = ["expect", "text", "calls", "stop", "input_tokens", "output_tokens"];
    if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(key)) {
        return Err(format!("`{key}` is not known; there are {}", KEYS.join(", ")));
    }
    let expect = match table.get("expect") {
        None => Vec::new(),
        Some(item) => {
            let array = item.as_array().ok_or("`expect` is no array of texts")?;
            let texts = array.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>().ok_or("`expect` is no array of texts")?
        }
    };
    let text = match table.get("text") {
        None => String::new(),
        Some(item) => item.as_str().ok_or("`text` is no text")?.to_owned(),
    };
    let calls = match table.get("calls") {
        None => Vec::new(),
        Some(Item::ArrayOfTables(tables)) => tables.iter().map(|call| scripted_call(call)).collect::<Result<_, _>>()?,
        Some(Item::Value(Toml::Array(array))) => {
            let call = |value: &Toml| match value {
                Toml::InlineTable(table) => scripted_call(table),
                _ => Err("`calls` holds something that is no table".to_owned()),
            };
            array.iter().map(call).collect::<Result<_, _>>()?
        }
        Some(_) => return Err("`calls` are tables: [[turn.calls]]".into()),
    };
    let stop = match table.get("stop").map(Item::as_str) {
        None if calls.is_empty() => Stop::End,
        None => Stop::ToolCalls,
        Some(Some("length")) => Stop::Length,
        Some(Some("refused")) => Stop::Refused,
        Some(_) => return Err("`stop` is length or refused".into()),
    };
    let number = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(item) => match item.as_integer().and_then(|number| u64::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("`{key}` is no number from 0 on")),
        },
    };
    let (input, output) = (number("input_tokens")?, number("output_tokens")?);
    let usage = (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        cached_tokens: 0,
    });
    let calls: Vec<Call> = calls;
    Ok(ScriptedTurn {
        expect,
        turn: ModelTurn { text, calls: calls.into_iter().map(Ok).collect(), stop, usage, verbatim: None },
    })
}

fn scripted_call(table: &dyn TableLike) -> Result<Call, String> {
    if let Some((key, _)) = table.iter().find(|(key, _)| !["name", "arguments"].contains(key)) {
        return Err(format!("`{key}` of a call is not known; there are name, arguments"));
    }
    let name = table.get("name").and_then(Item::as_str).ok_or("a call has no `name`")?;
    let arguments = match table.get("arguments") {
        None => Value::Object(Map::new()),
        Some(item) => {
            let table = item.as_table_like().ok_or("`arguments` of a call are no table")?;
            object(table).ok_or("`arguments` of a call hold something that JSON does not have")?
        }
    };
    Ok(Call { id: None, name: name.into(), arguments: arguments.to_string() })
}

fn object(table: &dyn TableLike) -> Option<Value> {
    let members = table.iter().map(|(key, item)| Some((key.to_owned(), json_of(item)?)));
    Some(Value::Object(members.collect::<Option<Map<_, _>>>()?))
}

fn json_of(item: &Item) -> Option<Value> {
    match item {
        Item::Value(value) => json_of_value(value),
        Item::Table(table) => object(table),
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| object(table)).collect::<Option<Vec<_>>>().map(Value::Array)
        }
        Item::None => None,
    }
}

fn json_of_value(value: &Toml) -> Option<Value> {
    Some(match value {
        Toml::String(text) => Value::from(text.value().as_str()),
        Toml::Integer(number) => Value::from(*number.value()),
        Toml::Float(number) => Value::Number(serde_json::Number::from_f64(*number.value())?),
        Toml::Boolean(truth) => Value::from(*truth.value()),
        Toml::Datetime(_) => return None,
        Toml::Array(array) => Value::Array(array.iter().map(json_of_value).collect::<Option<_>>()?),
        Toml::InlineTable(table) => object(table)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_says_turn_by_turn_what_it_has_and_wants_to_hear_what_it_expects() {
        let text = r#"
[[turn]]
expect = ["weather", "Beijing"]
text = "I will look."
input_tokens = 7
[[turn.calls]]
name = "forecast"
arguments = { city = "Beijing", days = 2, deep = { list = [1.5, true, "x"] } }

[[turn]]
expect = ["rain"]
calls = [{ name = "a" }, { name = "b", arguments = {} }]

[[turn]]
stop = "length"
"#;
        let mut script = Script::read(text).unwrap();
        let user = |text: &str| vec![Turn::User(vec![Part::Text(text.into())])];
        let unexpected = script.say(&user("weather?")).unwrap_err();
        assert_eq!(unexpected.to_string(), "turn 1 of the script expects `Beijing`, and the model was told: weather?");
        let first = script.say(&user("the weather in Beijing?")).unwrap();
        assert_eq!((first.text.as_str(), first.stop.clone()), ("I will look.", Stop::ToolCalls));
        let call = first.calls[0].clone().unwrap();
        assert_eq!(call.arguments, r#"{"city":"Beijing","days":2,"deep":{"list":[1.5,true,"x"]}}"#);
        assert_eq!(first.usage.unwrap().input_tokens, 7);
        let results = vec![Turn::Results(vec![(call, b"rain".to_vec())])];
        assert_eq!(script.say(&results).unwrap().calls.len(), 2);
        assert!(!script.is_over());
        assert_eq!(script.say(&results).unwrap().stop, Stop::Length);
        assert!(script.is_over());
        assert_eq!(script.say(&results), Err(ScriptError::Over(3)));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_turn() {
        for (text, expected) in [
            ("x = [", "it is no TOML"),
            ("", "it has no turns"),
            ("turns = []", "`turns` is not known"),
            ("[[turn]]\ntex = 1", "turn 1: `tex` is not known"),
            ("[[turn]]\n[[turn]]\ntext = 1", "turn 2: `text` is no text"),
            ("[[turn]]\nexpect = \"x\"", "turn 1: `expect` is no array"),
            ("[[turn]]\ncalls = [{}]", "turn 1: a call has no `name`"),
            ("[[turn]]\ncalls = 3", "turn 1: `calls` are tables"),
            ("[[turn]]\ncalls = [{ name = \"a\", args = {} }]", "turn 1: `args` of a call is not known"),
            (
                "[[turn]]\ncalls = [{ name = \"a\", arguments = { d = 2020-01-01 } }]",
                "turn 1: `arguments` of a call hold",
            ),
            ("[[turn]]\nstop = \"never\"", "turn 1: `stop` is"),
            ("[[turn]]\ninput_tokens = -1", "turn 1: `input_tokens` is no number"),
        ] {
            let told = Script::read(text).unwrap_err().to_string();
            assert!(told.starts_with(expected), "{text}: {told}");
        }
    }
}
