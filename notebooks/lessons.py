"""Lessons for classes, with a question, tasks, a hint, and an answer: `marimo edit notebooks/lessons.py`."""

import marimo

app = marimo.App(app_title="Lessons")


@app.cell
def _():
    import marimo as mo

    import fullpipe
    from fullpipe.lessons import lessons

    return fullpipe, lessons, mo


@app.cell
def _(lessons, mo):
    chosen = mo.ui.dropdown(
        {f"{one.number} {one.title}": one for one in lessons()}, value="1 Slow start", label="lesson"
    )
    chosen
    return (chosen,)


@app.cell
def _(chosen, mo):
    lesson = chosen.value
    tasks = "\n".join(f"{i}. {task.text}" for i, task in enumerate(lesson.tasks, 1))
    mo.md(f"# {lesson.title}\n\n{lesson.question}\n\n{tasks}")
    return (lesson,)


@app.cell
def _(lesson, mo):
    values = "\n".join(f"{i}. {task.value}" for i, task in enumerate(lesson.tasks, 1))
    mo.accordion({"Hint": mo.md(lesson.hint), "Answer": mo.md(f"{values}\n\n{lesson.answer}")})
    return


@app.cell
def _(lesson, mo):
    text = mo.ui.code_editor(lesson.scenario, language="toml", label="Scenario: change a value, and the run follows")
    text
    return (text,)


@app.cell
def _(fullpipe, text):
    result = fullpipe.run(fullpipe.Scenario.loads(text.value))
    result.plot()
    return (result,)


@app.cell
def _(result):
    result
    return


if __name__ == "__main__":
    app.run()
