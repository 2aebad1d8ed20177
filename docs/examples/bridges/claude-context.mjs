// The splitter of @zilliz/claude-context-core: one chunk for each definition, nested ones too, and nothing of what is
// between them. What it embeds of a chunk begins with the last 300 characters of the one before.
// Where its parser fails, as on files of 32 kB and more, it takes a text splitter instead and says so in a log alone.
// Here such a file is refused, and counted with --skip-errors; with --fallback it is cut as the package does it.
import { createRequire } from 'node:module';
import { ending, inOrder, serve } from './serve.mjs';

const require = createRequire(import.meta.url);
const { AstCodeSplitter } = require('@zilliz/claude-context-core/dist/splitter/ast-splitter.js');
const LANGUAGES = {
  py: 'python', pyi: 'python', js: 'javascript', jsx: 'javascript', mjs: 'javascript', cjs: 'javascript',
  ts: 'typescript', tsx: 'typescript', java: 'java', go: 'go', rs: 'rust', c: 'c', h: 'c', cc: 'cpp', cpp: 'cpp',
  cxx: 'cpp', hpp: 'cpp', hh: 'cpp', cs: 'csharp',
};
const splitter = new AstCodeSplitter();
const bare = new AstCodeSplitter();
bare.setChunkOverlap(0);
let warned = '';
console.log = console.info = () => {};
console.warn = message => { warned = String(message); };

/** The offset at which a line begins, counted from 1. */
function lineStart(text, line) {
  let at = 0;
  for (let n = 1; n < line; n++) at = text.indexOf('\n', at) + 1;
  return at;
}

await serve(async (path, text) => {
  const language = LANGUAGES[ending(path)];
  if (!language) throw new Error(`claude-context parses no files that end in .${ending(path)}`);
  warned = '';
  const embedded = await splitter.split(text, language, path);
  if (warned) {
    if (!process.argv.includes('--fallback')) throw new Error(`claude-context takes its text splitter: ${warned}`);
    return inOrder(text, embedded.map(chunk => chunk.content), start => start + 1);
  }
  const own = await bare.split(text, language, path);
  const found = new Map();
  own.forEach((chunk, i) => {
    const start = text.indexOf(chunk.content, lineStart(text, chunk.metadata.startLine));
    if (start < 0) throw new Error(`claude-context gave a text that is not in the file: ${chunk.content.slice(0, 60)}`);
    const place = { start, end: start + chunk.content.length };
    // A definition may be all of another one.
    if (!found.has(`${place.start}-${place.end}`)) {
      found.set(`${place.start}-${place.end}`, { ...place, text: embedded[i].content });
    }
  });
  return [...found.values()].sort((a, b) => a.start - b.start || a.end - b.end);
});
