
// shows the sentences nearest to the chosen query; the page holds all results
const query = document.getElementById("query");
const found = document.getElementById("found");
query.addEventListener("change", () => {
  found.replaceChildren(...nearest[query.value].map(([index, similarity]) => {
    const item = document.createElement("li");
    const number = document.createElement("b");
    const title = document.createElement("i");
    number.textContent = similarity;
    title.textContent = sentences[index][1];
    item.append(number, " " + sentences[index][0] + " ", title);
    return item;
  }));
});
