"""How sure is a difference? `marimo edit notebooks/seeds.py`."""

import marimo

app = marimo.App(app_title="Seeds")


@app.cell
def _():
    import marimo as mo

    import fullpipe

    return fullpipe, mo


@app.cell
def _(mo):
    mo.md("""
    # How sure is a difference?

    Two algorithms, the same seeds. Intervals of their means overlap; the interval of the difference, seed by seed, is
    the narrower one, as what varies with the seed alone is in both.
    """)
    return


@app.cell
def _(mo):
    repeats = mo.ui.slider(2, 20, value=5, label="seeds")
    other = mo.ui.dropdown(
        ["cubic", "vegas", "adaptive-aimd", "hyun-jang"], value="adaptive-aimd", label="beside newreno"
    )
    mo.hstack([repeats, other])
    return other, repeats


@app.cell
def _(fullpipe, other, repeats):
    scenario = fullpipe.Scenario(
        duration="30 s",
        warmup="10 s",
        links=[{"name": "bottleneck", "rate": "20 Mbit/s", "delay": "20 ms", "buffer": "40 packets"}],
        flows=[{"algorithm": "newreno", "count": 4, "start": "0 s..5 s", "access_delay": "0 s..10 ms"}],
    )
    sweep = fullpipe.sweep(scenario, {"flows.algorithm": ["newreno", other.value]}, seeds=repeats.value)
    return (sweep,)


@app.cell
def _(sweep):
    means = {
        row["flows.algorithm"]: (row["utilization_mean"], row["utilization_ci95"])
        for row in sweep.summary().to_pylist()
    }
    (row,) = sweep.compare("newreno", metrics=["utilization"]).to_pylist()
    difference = (row["difference"], row["ci95"])
    return difference, means


@app.cell
def _(difference, means, mo):
    lines = [f"- {name}: {mean:.4f} ± {half:.4f}" for name, (mean, half) in means.items()]
    mo.md(
        "Utilization, mean and 95 % confidence interval:\n\n"
        + "\n".join(lines)
        + "\n- difference: {:+.4f} ± {:.4f}".format(*difference)
    )
    return


if __name__ == "__main__":
    app.run()
