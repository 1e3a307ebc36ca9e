"""Plans, scripts, frames and rebalances in words."""
