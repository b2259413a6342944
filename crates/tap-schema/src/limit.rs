//! The bounds, all in one place. What is past one of them is not judged.
//!
//! The stack figures are those of an unoptimized build, measured with jsonschema 0.61 for a thread with 512 KiB of
//! stack; an optimized build needs a third of it.

/// The longest text of a schema, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// The longest text of a value to be judged, in bytes. Parsed, a megabyte can come to some 100 megabytes.
pub const MAX_INSTANCE_BYTES: usize = 1024 * 1024;

/// How deep arrays and objects may lie in each other, in a schema and in a value. Parsers stop at 127.
pub const MAX_DEPTH: usize = 96;

/// How deep subschemas may lie in each other, in levels, where up to eight references are followed on the way.
///
/// Compiling takes 5 to 6 KiB of stack a level. `additionalProperties` and `unevaluatedItems` count as two levels,
/// `unevaluatedProperties` as three.
pub const MAX_LEVELS: usize = 48;

/// How many subschemas an evaluation may be inside of at once. Each takes up to 2.4 KiB of stack.
pub const MAX_STEPS_DEEP: usize = 160;

/// The most steps that one evaluation may take: a step is one keyword applied to one value, some 50 nanoseconds.
pub const MAX_STEPS: u64 = 2_000_000;

/// The most pairs of a subschema and a part of the value that are looked at to count the steps.
pub const MAX_PAIRS: u64 = 250_000;

/// The most memory that the errors of one evaluation may take, in bytes. Past it, fewer violations are told.
pub const MAX_ERROR_BYTES: u64 = 16 * 1024 * 1024;

/// How many violations are told of one value.
pub const MAX_VIOLATIONS: usize = 8;

/// The longest message of a violation or a refusal, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 256;

/// What the places of all keywords of a schema may come to, written as JSON Pointers, in bytes.
pub const MAX_LOCATION_BYTES: usize = 8 * 1024 * 1024;

/// How many subschemas one `unevaluatedProperties` or `unevaluatedItems` may look into, references unrolled.
///
/// Compiling takes their square: 1 millisecond for 500, 5 seconds for 33,000.
pub const MAX_UNROLLED: u64 = 512;

/// The sum of what [`MAX_UNROLLED`] bounds, over a whole schema.
pub const MAX_UNROLLED_TOTAL: u64 = 4096;

/// The most steps that compiling a schema may take where the evaluator compares all with all, some 10 nanoseconds each.
pub const MAX_COMPILE_STEPS: u64 = 10_000_000;

/// How many different patterns a schema may have.
pub const MAX_PATTERNS: usize = 128;

/// The most memory of one compiled pattern, in bytes. A larger one is left out.
pub const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// The most memory of all compiled patterns of a schema, in bytes. The ones past it are left out.
pub const MAX_PATTERN_TOTAL_BYTES: usize = 4 * 1024 * 1024;
