// The ids of SentencePiece: arguments are a model, a file of texts with U+0000 between them, and the file to write, a line for each text.
const fs = require('fs');
const { SentencePieceProcessor } = require(require.resolve('./sentencepiece-js.cjs', { paths: [process.cwd()] }));
(async () => {
  const [model, texts, ids] = process.argv.slice(2);
  const processor = new SentencePieceProcessor();
  await processor.load(model);
  const lines = fs.readFileSync(texts, 'utf8').split('\u0000').map(text => Array.from(processor.encodeIds(text)).join(' '));
  fs.writeFileSync(ids, lines.join('\n'));
})();
