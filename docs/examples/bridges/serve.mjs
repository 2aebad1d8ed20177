// The protocol of exec: chunkers: a file a line in, its chunks a line out. See docs/chunkers.md.
import { createInterface } from 'node:readline';

// What libraries print must not get among the answers.
console.log = console.info = console.error;

/** Answer each file with what `split(path, text)` gives: chunks with start and end in UTF-16 code units. */
export async function serve(split) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { path, text } = JSON.parse(line);
    let answer;
    try {
      answer = { version: 2, unit: 'utf16', chunks: await split(path, text) };
    } catch (error) {
      answer = { error: String(error?.message ?? error).split('\n')[0] };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}

/** Where texts are that follow each other in a file: each is looked for from the given place of the one before on. */
export function inOrder(text, pieces, next) {
  let at = 0;
  return pieces.map(piece => {
    const start = text.indexOf(piece, at);
    if (start < 0) throw new Error(`the splitter gave a text that is not in the file: ${piece.slice(0, 60)}`);
    at = next(start, start + piece.length);
    return { start, end: start + piece.length };
  });
}

/** The ending of a file's name, without the dot. */
export const ending = path => path.slice(path.lastIndexOf('.') + 1).toLowerCase();

/** A whole number that follows a word of the command line, as in `--size 1000`. */
export function option(name, usual) {
  const at = process.argv.indexOf(name);
  return at < 0 ? usual : Number(process.argv[at + 1]);
}
