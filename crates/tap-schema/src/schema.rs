//! A compiled schema, and judging by it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;

use crate::bounds;
use crate::cost::{self, Cost, Unbounded};
use crate::error::{SchemaError, shorten};
use crate::instance::Instance;
use crate::limit::{MAX_ERROR_BYTES, MAX_INSTANCE_BYTES, MAX_SCHEMA_BYTES, MAX_STEPS};
use crate::outline::Outline;
use crate::pattern::Patterns;
use crate::plan::Plan;
use crate::read::{Unread, read_exactly, read_roughly};
use crate::rewrite::rewrite;
use crate::verdict::{Checked, NotChecked, Violation, message, violations};

/// A JSON Schema that values can be judged by.
pub struct Schema {
    validator: Validator,
    plan: Plan,
    ignored_patterns: Vec<String>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Schema")
            .field("dialect", &self.validator.draft())
            .field("n_subschemas", &self.plan.nodes.len())
            .field("ignored_patterns", &self.ignored_patterns)
            .finish_non_exhaustive()
    }
}

impl Schema {
    /// Compiles the text of a schema, of the dialect that its `$schema` names, or else 2020-12.
    ///
    /// Takes bounded time, memory and stack, whatever the text.
    ///
    /// # Errors
    ///
    /// It is no schema, needs something that is not in it, or is past one of the bounds.
    pub fn compile(text: &[u8]) -> Result<Self, SchemaError> {
        if MAX_SCHEMA_BYTES < text.len() {
            return Err(SchemaError::TooLarge { bytes: text.len() });
        }
        let value = read_roughly(text).map_err(|unread| match unread {
            Unread::TooDeep => SchemaError::TooDeep,
            Unread::NumberOutOfRange | Unread::NotJson => SchemaError::NotJson,
        })?;
        let dialect = dialect(&value)?;
        // The evaluator is large, has panicked before, and what it reads comes from anybody.
        catch_unwind(AssertUnwindSafe(|| compile(&value, dialect))).unwrap_or(Err(SchemaError::Failed))
    }

    /// Judges the text of a value.
    ///
    /// Takes bounded time, memory and stack, whatever the text.
    pub fn check(&self, instance: &[u8]) -> Checked {
        if MAX_INSTANCE_BYTES < instance.len() {
            return Checked::NotChecked(NotChecked::TooLarge);
        }
        let value = match read_exactly(instance) {
            Ok(value) => value,
            Err(unread) => {
                return Checked::NotChecked(match unread {
                    Unread::TooDeep => NotChecked::TooDeep,
                    Unread::NumberOutOfRange => NotChecked::NumberOutOfRange,
                    Unread::NotJson => NotChecked::NotJson,
                });
            }
        };
        match cost::measure(&self.plan, &Instance::new(&value)) {
            Ok(cost) => catch_unwind(AssertUnwindSafe(|| self.judge(&value, cost)))
                .unwrap_or(Checked::NotChecked(NotChecked::Failed)),
            Err(Unbounded::TooDeep) => Checked::NotChecked(NotChecked::TooDeep),
            Err(Unbounded::TooCostly) => Checked::NotChecked(NotChecked::TooCostly),
        }
    }

    /// The patterns that are left out, in `pattern` and `patternProperties`: every text matches them. Each is shortened.
    pub fn ignored_patterns(&self) -> &[String] {
        &self.ignored_patterns
    }

    fn judge(&self, value: &Value, cost: Cost) -> Checked {
        if self.validator.is_valid(value) {
            return Checked::Valid;
        }
        // jsonschema 0.61 has a schema whose verdict it knows, and whose errors it panics about ("pending schema target
        // dropped"); that is no reason to be silent about the verdict.
        let told = catch_unwind(AssertUnwindSafe(|| self.tell(value, cost)));
        let mut violations = told.unwrap_or_default();
        if violations.is_empty() {
            violations.push(Violation::unknown());
        }
        Checked::Invalid(violations)
    }

    /// Why a value is not valid, as far as that can be told.
    fn tell(&self, value: &Value, cost: Cost) -> Vec<Violation> {
        if MAX_STEPS < cost.telling {
            Vec::new()
        } else if cost.errors <= MAX_ERROR_BYTES {
            violations(self.validator.iter_errors(value))
        } else if cost.first_error <= MAX_ERROR_BYTES {
            violations(self.validator.validate(value).err().into_iter())
        } else {
            Vec::new()
        }
    }
}

/// The dialect that a schema is written in.
fn dialect(schema: &Value) -> Result<Draft, SchemaError> {
    match schema {
        Value::Bool(_) => Ok(Draft::Draft202012),
        Value::Object(members) => match members.get("$schema") {
            None => Ok(Draft::Draft202012),
            Some(Value::String(uri)) => match Draft::from_schema_uri(uri) {
                Draft::Unknown => Err(SchemaError::UnknownDialect { uri: shorten(uri) }),
                known => Ok(known),
            },
            Some(_) => Err(SchemaError::NotASchema { message: "$schema is not a string".to_owned() }),
        },
        _ => Err(SchemaError::NotASchema { message: "a schema is an object or a boolean".to_owned() }),
    }
}

fn compile(schema: &Value, dialect: Draft) -> Result<Schema, SchemaError> {
    let outline = Outline::new(schema, dialect)?;
    bounds::check(&outline)?;
    let patterns = Patterns::new(&outline)?;
    let rewritten = rewrite(&outline, &patterns);
    check_by_meta_schema(&rewritten, dialect)?;
    let validator = patterns.options().with_draft(dialect).build(&rewritten).map_err(|error| refusal(&error))?;
    Ok(Schema { validator, plan: Plan::new(&outline, &patterns), ignored_patterns: patterns.ignored() })
}

/// Whether a schema is valid by the meta-schema of its dialect.
fn check_by_meta_schema(schema: &Value, dialect: Draft) -> Result<(), SchemaError> {
    if schema.is_boolean() || is_valid_by_meta_schema(schema, dialect) {
        return Ok(());
    }
    // An error may hold a copy of each subschema around the place that it is about.
    let (_, bytes) = crate::plan::size(schema);
    let error = if bytes <= MAX_ERROR_BYTES / 16 { error_by_meta_schema(schema, dialect) } else { None };
    let message = error.map_or_else(
        || "not valid by the meta-schema of its dialect".to_owned(),
        |error| match error.instance_path().as_str() {
            "" => message(&error),
            pointer => shorten(&format!("{} at {pointer}", message(&error))),
        },
    );
    Err(SchemaError::NotASchema { message })
}

fn is_valid_by_meta_schema(schema: &Value, dialect: Draft) -> bool {
    match dialect {
        Draft::Draft4 => jsonschema::draft4::meta::is_valid(schema),
        Draft::Draft6 => jsonschema::draft6::meta::is_valid(schema),
        Draft::Draft7 => jsonschema::draft7::meta::is_valid(schema),
        Draft::Draft201909 => jsonschema::draft201909::meta::is_valid(schema),
        _ => jsonschema::draft202012::meta::is_valid(schema),
    }
}

fn error_by_meta_schema(schema: &Value, dialect: Draft) -> Option<ValidationError<'_>> {
    match dialect {
        Draft::Draft4 => jsonschema::draft4::meta::validate(schema),
        Draft::Draft6 => jsonschema::draft6::meta::validate(schema),
        Draft::Draft7 => jsonschema::draft7::meta::validate(schema),
        Draft::Draft201909 => jsonschema::draft201909::meta::validate(schema),
        _ => jsonschema::draft202012::meta::validate(schema),
    }
    .err()
}

/// Why the evaluator does not compile a schema that its meta-schema allows.
fn refusal(error: &ValidationError<'_>) -> SchemaError {
    match error.kind() {
        // All references lead to a place that was there; what it was in has been left out.
        ValidationErrorKind::Referencing(_) => {
            SchemaError::UnresolvedReference { reference: shorten(&error.to_string()) }
        }
        _ => SchemaError::NotASchema { message: message(error) },
    }
}
