//! What stands in a list: a tool, or a prompt, resource, template or root.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tap_jsonrpc::Node;
use tap_schema::{Schema, SchemaError};

use crate::machine::Seen;
use crate::state::Kept;

/// Schemas of a list that are compiled, counted in bytes of their text: compiled they take many times as much memory.
/// By those that follow nothing is judged.
const SCHEMAS_LIMIT_BYTES: usize = 4 * 1024 * 1024;

/// Something that can be listed.
pub(super) trait Item: Sized {
    /// What it is called by: unlike every other one of its list.
    fn name(&self) -> &Arc<str>;

    /// Reads one; `None` where it has no name. `earlier` gives the one of that name in the list as it was before.
    fn read<'e>(seen: &Seen<'_>, node: Node<'_>, earlier: impl Fn(&str) -> Option<&'e Arc<Self>>) -> Option<Self>
    where
        Self: 'e;

    /// Counts what goes beyond the text, and gives it up when it is too much together with what came before.
    fn afford(&mut self, n_bytes: &mut usize);
}

/// A prompt, resource, resource template or root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// A prompt's name, a resource's or root's URI, a template's URI template.
    pub name: Arc<str>,
    /// The whole item as written.
    pub text: Kept,
}

impl Item for Listed {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn read<'e>(seen: &Seen<'_>, node: Node<'_>, _earlier: impl Fn(&str) -> Option<&'e Arc<Self>>) -> Option<Self> {
        // A prompt has neither of the first two, and the others have names that need not differ.
        let [uri, template, name] = node.pick(["uri", "uriTemplate", "name"]);
        let name = uri.or(template).or(name)?.text()?;
        Some(Self { name: Arc::from(&*name), text: seen.keep(node)? })
    }

    fn afford(&mut self, _n_bytes: &mut usize) {}
}

/// A tool.
#[derive(Clone)]
pub struct Tool {
    /// Its name.
    pub name: Arc<str>,
    /// The whole tool as written.
    pub text: Kept,
    /// `inputSchema` as written.
    pub input_schema: Option<Kept>,
    /// `outputSchema` as written, unless it is `null`.
    pub output_schema: Option<Kept>,
    /// Whether its schemas may be compiled.
    is_judged: bool,
    input: Compiled,
    output: Compiled,
}

/// A schema that is read when it is needed, once.
#[derive(Clone, Default)]
struct Compiled(OnceLock<Result<Arc<Schema>, SchemaError>>);

impl Compiled {
    fn of(&self, text: Option<&Kept>) -> Option<&Result<Arc<Schema>, SchemaError>> {
        let text = text?;
        Some(self.0.get_or_init(|| Schema::compile(&text.0).map(Arc::new)))
    }
}

impl Tool {
    /// What its arguments are checked against. `None` without an input schema, or where there were too many.
    pub(crate) fn input(&self) -> Option<&Result<Arc<Schema>, SchemaError>> {
        self.input.of(self.input_schema.as_ref().filter(|_| self.is_judged))
    }

    /// What its structured content is checked against. `None` without an output schema, or where there were too many.
    pub(crate) fn output(&self) -> Option<&Result<Arc<Schema>, SchemaError>> {
        self.output.of(self.output_schema.as_ref().filter(|_| self.is_judged))
    }
}

impl Item for Tool {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn read<'e>(seen: &Seen<'_>, node: Node<'_>, earlier: impl Fn(&str) -> Option<&'e Arc<Self>>) -> Option<Self> {
        let [name, input, output] = node.pick(["name", "inputSchema", "outputSchema"]);
        let name = name?.text()?;
        let text = seen.keep(node)?;
        let part = |node: Option<Node<'_>>| node.and_then(|node| seen.keep(node));
        let (input_schema, output_schema) = (part(input), part(output.filter(|output| !output.is_null())));
        let mut tool = Self {
            name: Arc::from(&*name),
            text,
            input_schema,
            output_schema,
            is_judged: true,
            input: Compiled::default(),
            output: Compiled::default(),
        };
        // Clients list again and again: what did not change is not compiled anew.
        if let Some(earlier) = earlier(&name) {
            if earlier.input_schema == tool.input_schema {
                tool.input = earlier.input.clone();
            }
            if earlier.output_schema == tool.output_schema {
                tool.output = earlier.output.clone();
            }
        }
        Some(tool)
    }

    fn afford(&mut self, n_bytes: &mut usize) {
        let schemas = [&self.input_schema, &self.output_schema];
        *n_bytes += schemas.into_iter().flatten().map(|schema| schema.0.len()).sum::<usize>();
        self.is_judged = *n_bytes <= SCHEMAS_LIMIT_BYTES;
    }
}

/// Two tools are the same when they were written alike; whether their schemas were compiled does not matter.
impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Tool {}

impl fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tool").field("name", &self.name).field("text", &self.text.node()).finish()
    }
}
