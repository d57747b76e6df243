"""How fast CoChef is, next to the simulators and learners of others."""
