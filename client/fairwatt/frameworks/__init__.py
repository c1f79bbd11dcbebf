"""Ready callbacks for training frameworks; each needs its framework, and nothing else does."""
