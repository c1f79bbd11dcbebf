"""How jobs behave on GPUs: speed, watts, sensitivity, and the fits of them."""
