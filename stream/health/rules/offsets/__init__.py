"""Rules about the committed offset itself: expiring, not used, never written, moved back or forward."""
