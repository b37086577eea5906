"""How do algorithms move their windows? `marimo edit notebooks/windows.py`."""

import marimo

app = marimo.App(app_title="Windows")


@app.cell
def _():
    import marimo as mo

    import fullpipe

    return fullpipe, mo


@app.cell
def _(mo):
    mo.md("""
    # How do algorithms move their windows?

    The same link for each. What to look at: what a loss takes, how the window comes back, and whether the queue is ever
    empty, or ever less than full.
    """)
    return


@app.cell
def _(fullpipe, mo):
    known = fullpipe.algorithms()
    chosen = mo.ui.multiselect(sorted(known), value=["newreno", "cubic", "bbr"], label="algorithms")
    buffer_bdp = mo.ui.slider(0.1, 2.0, step=0.1, value=0.5, label="buffer, BDP")
    loss_percent = mo.ui.slider(0.0, 1.0, step=0.05, value=0.0, label="random loss, %")
    mo.vstack([chosen, buffer_bdp, loss_percent])
    return buffer_bdp, chosen, known, loss_percent


@app.cell
def _(buffer_bdp, chosen, fullpipe, loss_percent):
    link = {"name": "bottleneck", "rate": "20 Mbit/s", "delay": "20 ms", "buffer": f"{buffer_bdp.value} BDP"}
    scenario = fullpipe.Scenario(
        duration="60 s",
        warmup="20 s",
        links=[{**link, "loss": loss_percent.value / 100}],
        flows=[{"algorithm": "newreno"}],
    )
    comparison = fullpipe.compare(scenario, chosen.value)
    comparison.plot()
    return (comparison,)


@app.cell
def _(comparison):
    comparison
    return


@app.cell
def _(chosen, known, mo):
    mo.md("\n".join(f"- **{name}** answers to {known[name].group}: {known[name].paper}" for name in chosen.value))
    return


if __name__ == "__main__":
    app.run()
