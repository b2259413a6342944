//! Arguments as they are typed on a command line, made the JSON that a tool's schema asks for.
//!
//! `name=value` becomes what the schema says that it is: a number where it asks for one, and a text otherwise. Numbers keep
//! their spelling. `name:=JSON` is taken as it is. What the schema says of types is read where it is plain: `type`, `enum`,
//! `const`, and those behind `$ref`, `anyOf`, `oneOf` and `allOf`; whether the whole fits is for the schema to judge.

use tap_jsonrpc::{Content, Node, NodeKind, scan};
use tap_peer::quoted;

use crate::text::shown;

/// How deep schemas are looked into for types.
const DEPTH: usize = 16;

/// Makes the text of a JSON object from words. `base` is the text of an object that they are added to.
pub(super) fn object(base: Option<&str>, words: &[String], schema: Option<Node<'_>>) -> Result<String, String> {
    let mut members: Vec<(String, Vec<String>)> = Vec::new();
    let mut whole = base.map(str::to_owned);
    for word in words {
        if word.trim_start().starts_with('{') {
            if whole.is_some() || !members.is_empty() {
                return Err("the arguments are given as an object, and beside that once more".into());
            }
            whole = Some(word.clone());
            continue;
        }
        let (name, value) = member(word, schema)?;
        let is_array = schema.is_some_and(|schema| is_array_in(schema, &name));
        match members.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) if is_array => values.push(value),
            Some(_) => return Err(format!("`{}` is given twice", shown(&name, false))),
            None => members.push((name, vec![value])),
        }
    }
    let mut out = String::from("{");
    if let Some(whole) = &whole {
        let node = read(whole).filter(|node| node.is_object());
        let node = node.ok_or_else(|| format!("`{}` is no JSON object", shown(whole.trim(), false)))?;
        for (key, value) in node.members() {
            if members.iter().any(|(name, _)| key.is(name)) {
                continue;
            }
            push(&mut out, &String::from_utf8_lossy(key.bytes()), &String::from_utf8_lossy(value.bytes()));
        }
    }
    for (name, values) in &members {
        let is_array = schema.is_some_and(|schema| is_array_in(schema, name));
        let is_one_array = values.len() == 1 && values.first().is_some_and(|value| value.trim().starts_with('['));
        let value = match values.as_slice() {
            [one] if !is_array || is_one_array => one.clone(),
            many => format!("[{}]", many.join(",")),
        };
        push(&mut out, &quoted(name), &value);
    }
    out.push('}');
    Ok(out)
}

fn push(out: &mut String, key: &str, value: &str) {
    if out.len() > 1 {
        out.push(',');
    }
    out.push_str(&format!("{key}:{value}"));
}

/// One JSON value, all of the text.
fn read(text: &str) -> Option<Node<'_>> {
    match scan(text.as_bytes(), &[]).content {
        Content::Blank | Content::NotJson(_) => None,
        Content::Message(_) | Content::Batch(_) | Content::NotAMessage(_) => Some(Node::new(text.as_bytes())),
    }
}

/// `name=value` or `name:=JSON`.
fn member(word: &str, schema: Option<Node<'_>>) -> Result<(String, String), String> {
    let Some((name, value)) = word.split_once('=') else {
        return Err(format!("`{}` is neither name=value nor name:=JSON, nor a JSON object", shown(word, false)));
    };
    if let Some(name) = name.strip_suffix(':') {
        return match read(value) {
            Some(_) => Ok((name.to_owned(), value.trim().to_owned())),
            None => Err(format!("what is given for `{}` is no JSON: {}", shown(name, false), shown(value, false))),
        };
    }
    let property = schema.and_then(|schema| schema.get("properties")?.get(name));
    let typed = match (schema, property) {
        (Some(schema), Some(property)) => of_type(value, property, schema),
        _ => quoted(value),
    };
    Ok((name.to_owned(), typed))
}

/// What a schema lets a value be.
#[derive(Debug, Default)]
struct Types {
    kinds: Vec<String>,
    /// Values that are named, as they are written.
    choices: Vec<String>,
}

impl Types {
    fn has(&self, kind: &str) -> bool {
        self.kinds.iter().any(|known| known == kind)
    }
}

/// A value as a property's schema has it.
fn of_type(value: &str, property: Node<'_>, schema: Node<'_>) -> String {
    let mut types = Types::default();
    collect(property, schema, DEPTH, &mut types);
    let text = quoted(value);
    // What is named in so many words.
    if types.choices.iter().any(|choice| Node::new(choice.as_bytes()).is_text(value)) {
        return text;
    }
    if types.choices.iter().any(|choice| choice == value) && read(value).is_some() {
        return value.to_owned();
    }
    if types.has("string") {
        return text;
    }
    let Some(node) = read(value) else {
        return match types.has("array") {
            true => of_item(value, property, schema),
            false => text,
        };
    };
    let fits = match node.kind() {
        NodeKind::Number => types.has("number") || types.has("integer"),
        NodeKind::True | NodeKind::False => types.has("boolean"),
        NodeKind::Null => types.has("null"),
        NodeKind::Object => types.has("object"),
        NodeKind::Array => types.has("array"),
        _ => false,
    };
    match fits {
        true => value.trim().to_owned(),
        false if types.has("array") => of_item(value, property, schema),
        false => text,
    }
}

/// A value as an element of a property that is an array.
fn of_item(value: &str, property: Node<'_>, schema: Node<'_>) -> String {
    match followed(property, schema, DEPTH).get("items") {
        Some(items) => of_type(value, items, schema),
        None => quoted(value),
    }
}

/// Whether a property is an array and nothing that a text could be.
fn is_array_in(schema: Node<'_>, name: &str) -> bool {
    let Some(property) = schema.get("properties").and_then(|properties| properties.get(name)) else {
        return false;
    };
    let mut types = Types::default();
    collect(property, schema, DEPTH, &mut types);
    types.has("array") && !types.has("string")
}

/// The schema behind `$ref`, if it points into the whole.
fn followed<'a>(node: Node<'a>, whole: Node<'a>, depth: usize) -> Node<'a> {
    let target = node.get("$ref").and_then(Node::text);
    let Some(path) = target.as_deref().and_then(|target| target.strip_prefix("#/")) else {
        return node;
    };
    let mut at = Some(whole);
    for step in path.split('/') {
        let step = step.replace("~1", "/").replace("~0", "~");
        at = at.and_then(|at| at.get(&step));
    }
    match at {
        Some(at) if depth > 0 => followed(at, whole, depth - 1),
        _ => node,
    }
}

fn collect(node: Node<'_>, whole: Node<'_>, depth: usize, types: &mut Types) {
    let node = followed(node, whole, depth);
    let [kind, choices, only] = node.pick(["type", "enum", "const"]);
    match kind {
        Some(kind) if kind.is_array() => {
            types.kinds.extend(kind.elements().filter_map(|kind| Some(kind.text()?.into_owned())));
        }
        Some(kind) => types.kinds.extend(kind.text().map(String::from)),
        None => {}
    }
    let choices = choices.into_iter().flat_map(Node::elements).chain(only);
    types.choices.extend(choices.map(|choice| String::from_utf8_lossy(choice.bytes()).into_owned()));
    if depth > 0 {
        for part in ["anyOf", "oneOf", "allOf"] {
            for inner in node.get(part).into_iter().flat_map(Node::elements) {
                collect(inner, whole, depth - 1, types);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{"type":"object","properties":{
        "n":{"type":"integer"},"x":{"type":"number"},"s":{"type":"string"},"b":{"type":"boolean"},
        "o":{"type":"object"},"list":{"type":"array","items":{"type":"integer"}},"words":{"type":"array","items":{"type":"string"}},
        "maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},"either":{"type":["string","integer"]},
        "kind":{"enum":["1","two",3]},"ref":{"$ref":"#/$defs/a~1b"},"loop":{"$ref":"#/properties/loop"},"any":{}
    },"$defs":{"a/b":{"allOf":[{"type":"number"}]}}}"##;

    fn said(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        object(None, &words, Some(Node::new(SCHEMA.as_bytes()))).unwrap_or_else(|what| format!("wrong: {what}"))
    }

    #[test]
    fn a_value_is_what_the_schema_says_that_it_is() {
        for (words, expected) in [
            (&["n=2", "s=2"][..], r#"{"n":2,"s":"2"}"#),
            // As it is written: 64 bits hold neither.
            (&["n=12345678901234567890123", "x=1e400"], r#"{"n":12345678901234567890123,"x":1e400}"#),
            (&["n=two"], r#"{"n":"two"}"#),
            (&["n="], r#"{"n":""}"#),
            (&["b=true", "s=true"], r#"{"b":true,"s":"true"}"#),
            (&["b=yes"], r#"{"b":"yes"}"#),
            (&["o={\"a\":1}"], r#"{"o":{"a":1}}"#),
            (&["list=[1,2]"], r#"{"list":[1,2]}"#),
            (&["list=1"], r#"{"list":[1]}"#),
            (&["list=1", "list=2", "words=1", "words=b"], r#"{"list":[1,2],"words":["1","b"]}"#),
            (&["maybe=3"], r#"{"maybe":3}"#),
            (&["maybe=null"], r#"{"maybe":null}"#),
            (&["either=3"], r#"{"either":"3"}"#),
            (&["either:=3"], r#"{"either":3}"#),
            (&["kind=1"], r#"{"kind":"1"}"#),
            (&["kind=3"], r#"{"kind":3}"#),
            (&["ref=7"], r#"{"ref":7}"#),
            (&["loop=7", "any=7", "unknown=7"], r#"{"loop":"7","any":"7","unknown":"7"}"#),
            (&["s=a=b"], r#"{"s":"a=b"}"#),
            (&["s:=\"\\ud800\""], r#"{"s":"\ud800"}"#),
            (&["{\"n\":1.0,\"\\u0073\":2}"], r#"{"n":1.0,"\u0073":2}"#),
            (&[], "{}"),
            (&["n=1", "n=2"], "wrong: `n` is given twice"),
            (&["n"], "wrong: `n` is neither name=value nor name:=JSON, nor a JSON object"),
            (&["n:=[1"], "wrong: what is given for `n` is no JSON: [1"),
            (&["{\"n\":1", "s=2"], "wrong: `{\"n\":1` is no JSON object"),
            (&["{}", "{}"], "wrong: the arguments are given as an object, and beside that once more"),
        ] {
            assert_eq!(said(words), expected, "{words:?}");
        }
    }

    #[test]
    fn words_are_added_to_an_object_and_take_the_place_of_what_is_there() {
        let words = ["n=2".to_owned()];
        let schema = Some(Node::new(SCHEMA.as_bytes()));
        assert_eq!(object(Some(r#"{"n":1,"s":"\u0041"}"#), &words, schema).unwrap(), r#"{"s":"\u0041","n":2}"#);
        assert_eq!(object(None, &words, None).unwrap(), r#"{"n":"2"}"#);
        assert_eq!(object(Some("[]"), &[], None).unwrap_err(), "`[]` is no JSON object");
    }
}
