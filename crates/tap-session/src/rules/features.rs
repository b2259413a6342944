//! Rules of tools, resources, prompts, elicitation, sampling and roots.

rules! { FEATURES: }
