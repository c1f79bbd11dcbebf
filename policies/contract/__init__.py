"""What a policy sees and answers: snapshot in, plan out, and what every plan must keep."""
