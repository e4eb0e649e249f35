/** Source of a page's data: today the page itself; later a server, or the core in the browser. */

import type { PageDocument } from "./model/page";

export interface Source {
  load(): Promise<PageDocument>;
}

/** The element that `hypertwin.show.page` writes: JSON, or JSON deflated (RFC 1950) in base64 where it is long. */
export class InPage implements Source {
  constructor(private readonly root: Document) {}

  async load(): Promise<PageDocument> {
    const element = this.root.getElementById("page");
    if (!element) throw new Error("this page holds no data");
    const text = element.textContent ?? "";
    const page = JSON.parse(element.dataset["encoding"] === "deflate" ? await inflated(text) : text) as PageDocument;
    if (page.page !== 1) throw new Error(`this page is of form ${String(page.page)}; its script reads form 1`);
    return page;
  }
}

async function inflated(text: string): Promise<string> {
  if (typeof DecompressionStream === "undefined")
    throw new Error(
      "this browser cannot unpack the data of the page; Chrome 80, Firefox 113, Safari 16.4 and later can",
    );
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
