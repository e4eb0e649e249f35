/** The core of the page, as `hypertwin.show.page` writes it: base85 (that of git, with a comma for "<") of deflate. */

const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";

const DAMAGED = "the core of this page is damaged: ask for the file again";

/** The bytes of a text of five letters for each four bytes. Throws for other letters. */
export function ofBase85(text: string): Uint8Array<ArrayBuffer> {
  const values = new Int16Array(128).fill(-1);
  [...LETTERS].forEach((letter, value) => (values[letter.charCodeAt(0)] = value));
  const bytes = new Uint8Array(Math.floor(text.length / 5) * 4);
  for (let group = 0; group < bytes.length / 4; group += 1) {
    let number = 0;
    for (let place = 0; place < 5; place += 1) {
      const value = values[text.charCodeAt(group * 5 + place)] ?? -1;
      if (value < 0) throw new Error(DAMAGED);
      number = number * 85 + value;
    }
    for (let place = 0; place < 4; place += 1) bytes[group * 4 + place] = Math.floor(number / 256 ** (3 - place)) % 256;
  }
  return bytes;
}

/** The core in this document. Throws if there is none, or if it is damaged. */
export async function packedCore(root: Document): Promise<ArrayBuffer> {
  const element = root.getElementById("core");
  const text = element?.textContent?.trim();
  if (!text) throw new Error("this page holds no core");
  const packed = ofBase85(text).subarray(0, Number(element?.dataset["bytes"]));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  try {
    return await new Response(stream).arrayBuffer();
  } catch {
    throw new Error(DAMAGED);
  }
}
