"""A guarded loop: an agent that does the same failing thing again and again is held."""

from tripwire import Held, guard

with guard(budget="5usd") as g:
    try:
        while True:
            g.before("Bash", {"command": "make"})
            g.after(output="make: *** no rule to make target", exit_code=2)
    except Held as held:
        print("held:", held.rule, held.reason)
