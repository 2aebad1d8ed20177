// LangChain.js's RecursiveCharacterTextSplitter for a language.
// --size and --overlap are characters (UTF-16 code units), 1000 and 200 by default, as in the library.
import { RecursiveCharacterTextSplitter } from '@langchain/textsplitters';
import { ending, inOrder, option, serve } from './serve.mjs';

const LANGUAGES = {
  py: 'python', pyi: 'python', js: 'js', jsx: 'js', mjs: 'js', cjs: 'js', ts: 'js', tsx: 'js', java: 'java', go: 'go',
  rs: 'rust', c: 'cpp', h: 'cpp', cc: 'cpp', cpp: 'cpp', cxx: 'cpp', hpp: 'cpp', hh: 'cpp',
};
const chunkSize = option('--size', 1000);
const chunkOverlap = option('--overlap', 200);

await serve(async (path, text) => {
  const language = LANGUAGES[ending(path)];
  if (!language) throw new Error(`LangChain.js has no separators for files that end in .${ending(path)}`);
  const splitter = RecursiveCharacterTextSplitter.fromLanguage(language, { chunkSize, chunkOverlap });
  // A chunk begins behind the start of the one before, and repeats no more than the overlap of it.
  return inOrder(text, await splitter.splitText(text), (start, end) => Math.max(start + 1, end - chunkOverlap));
});
