// The questions of a study; each may be declined.

import { element } from "./dom.js";

const DECLINE = "I prefer not to say";

function choiceField({ id, options }) {
  const options_ = [...options.map((text) => [text, text]), ["", DECLINE]];
  const inputs = options_.map(([value, text], number) => {
    const input = element("input", { type: "radio", name: id, id: `${id}-${number}`, value });
    return [input, element("div", { class: "option" }, input, element("label", { for: `${id}-${number}` }, text))];
  });
  return {
    content: inputs.map(([, row]) => row),
    first: inputs[0][0],
    value() {
      const chosen = inputs.find(([input]) => input.checked);
      return chosen === undefined ? undefined : chosen[0].value || null;
    },
  };
}

function typedField({ id, text, kind, least, most }) {
  const limits = kind === "number" ? { type: "number", inputmode: "numeric", min: String(least), max: String(most), step: "1" } : { type: "text", maxlength: "200" };
  const input = element("input", { ...limits, id: `${id}-text`, "aria-label": text, autocomplete: "off" });
  const decline = element("input", { type: "checkbox", id: `${id}-decline`, onchange: () => (input.disabled = decline.checked) });
  return {
    content: [input, element("div", { class: "option" }, decline, element("label", { for: `${id}-decline` }, DECLINE))],
    first: input,
    value() {
      if (decline.checked) return null;
      const typed = input.value.trim();
      if (kind !== "number") return typed || undefined;
      const number = Number(typed);
      return typed && Number.isInteger(number) && number >= least && number <= most ? number : undefined;
    },
  };
}

/** A form with all questions; `send` gets the answers once each is answered or declined. */
export function questionForm(questions, send) {
  const fields = questions.map((question) => ({ question, ...(question.kind === "choice" ? choiceField(question) : typedField(question)) }));
  const boxes = fields.map(({ question, content }) => {
    const complaint = element("p", { class: "complaint", role: "alert" });
    const box = element("fieldset", {}, element("legend", {}, question.text), ...content, complaint);
    return { box, complaint };
  });

  function submit(event) {
    event.preventDefault();
    const values = {};
    let missing = null;
    fields.forEach((field, number) => {
      const value = field.value();
      const wish = field.question.kind === "number" ? `Please give a whole number from ${field.question.least} to ${field.question.most}, or decline.` : "Please answer or decline.";
      boxes[number].complaint.textContent = value === undefined ? wish : "";
      if (value === undefined) missing ??= field;
      else values[field.question.id] = value;
    });
    if (missing) missing.first.focus();
    else send(values);
  }

  return element("form", { onsubmit: submit, novalidate: true }, ...boxes.map(({ box }) => box), element("button", { type: "submit", class: "main" }, "Continue"));
}
