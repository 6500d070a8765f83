
// shows the sentences nearest to the chosen query, and the words that answer its words; the page holds all results
const query = document.getElementById("query");
const found = document.getElementById("found");
const words = document.getElementById("words");
const queries = Array.from(query.options, option => option.text);

// a text with marks of the words of answers: the query's word, from, end, percent
function marked(text, answers) {
  const parts = [];
  let at = 0;
  for (const [word, from, end, percent] of answers) {
    const mark = document.createElement("mark");
    const number = document.createElement("sup");
    number.textContent = word + 1;
    mark.className = "w" + word % 8;
    mark.style.setProperty("--s", percent + "%");
    mark.title = percent + " %";
    mark.append(text.slice(from, end), number);
    parts.push(text.slice(at, from), mark);
    at = end;
  }
  parts.push(text.slice(at));
  return parts;
}

query.addEventListener("change", () => {
  const chosen = query.value;
  words.replaceChildren(...marked(queries[chosen], queryWords[chosen].map(([from, end], i) => [i, from, end, 100])));
  found.replaceChildren(...nearest[chosen].map(([index, similarity, answers]) => {
    const item = document.createElement("li");
    const number = document.createElement("b");
    const title = document.createElement("i");
    number.textContent = similarity;
    title.textContent = sentences[index][1];
    item.append(number, " ", ...marked(sentences[index][0], answers), " ", title);
    return item;
  }));
});
