"""What our own outages cost: a control plane, a broker, a scheduler or a primary that is away."""
