"""Results in the formats of other tools: Every Eval Ever, and the community evals of the Hugging Face hub."""
