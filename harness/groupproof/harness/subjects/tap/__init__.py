"""The frame tap: what stands between any clients and any broker, sees every frame, and can strike it."""
