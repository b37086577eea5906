// Terminology of pages and of text that the program prints. Docstrings obey the terms of "everywhere" alone.
const { everywhere, printed } = require("./terms.json");

const terms = process.env.PROSE === "docstrings" ? everywhere : [...printed, ...everywhere];

module.exports = { rules: { terminology: { defaultTerms: false, skip: ["BlockQuote", "Table"], terms } } };
