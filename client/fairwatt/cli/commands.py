"""Every command, and where it is: one line each, so that help and completion import nothing."""

from typing import NamedTuple


class CommandPlace(NamedTuple):
    module: str
    help: str


COMMANDS = {
    "login": CommandPlace("login", "Remember a service and a token."),
    "submit": CommandPlace("submit", "Submit a job, from a file or from flags."),
    "run": CommandPlace("submit", "Submit, follow, and end with the job's exit code."),
    "array": CommandPlace("submit", "Submit many jobs of one kind as one array."),
    "arrays": CommandPlace("arrays", "List arrays, or say how the jobs of one stand."),
    "ls": CommandPlace("jobs", "List jobs, newest first; -w goes on with those that move."),
    "events": CommandPlace("events", "How jobs moved; -f follows them."),
    "show": CommandPlace("jobs", "Show one job, its moves and its attempts."),
    "why": CommandPlace(
        "why", "Why a job waits, runs or failed, what would help, and what it costs."
    ),
    "when": CommandPlace("why", "When a job starts and ends, with an interval."),
    "logs": CommandPlace("logs", "Print what a job printed; -f follows it."),
    "artifacts": CommandPlace("artifacts", "List or download what a job left behind."),
    "top": CommandPlace("top", "Watch nodes, GPUs, watts, the price now, and the queue."),
    "cost": CommandPlace("cost", "What a job, or the whole tenant, drew and owes."),
    "cancel": CommandPlace("steer", "Cancel jobs."),
    "hold": CommandPlace("steer", "Keep queued jobs from starting."),
    "release": CommandPlace("steer", "Let held jobs start."),
    "profile": CommandPlace("profile", "How kinds of jobs behave: list, show, measure, predict."),
    "whatif": CommandPlace(
        "whatif", "What a power budget or another policy would do to the queue."
    ),
    "simulate": CommandPlace("whatif", "Try policies on a trace, in the wind tunnel."),
    "nodes": CommandPlace("nodes", "List nodes."),
    "drain": CommandPlace("nodes", "Give a node nothing new."),
    "resume": CommandPlace("nodes", "Give a drained node work again."),
    "join": CommandPlace("nodes", "Print the one command that adds a machine."),
    "policy": CommandPlace("policy", "List policies, show one, or set a cluster's."),
    "tariff": CommandPlace("tariff", "List tariffs, show prices, import hourly ones."),
    "webhook": CommandPlace("webhook", "Have an address told of events: add, list, send again."),
}
