/** Starts the page, or shows why it cannot. */

import { render } from "preact";
import { App } from "./app";
import { InPage } from "./source";
import "./style.css";

async function start(place: HTMLElement): Promise<void> {
  try {
    const page = await new InPage(document).load();
    render(<App page={page} />, place);
  } catch (error) {
    const said = document.createElement("p");
    said.className = "failed";
    said.setAttribute("role", "alert");
    said.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    place.replaceChildren(said);
    console.error(error);
  }
}

const place = document.getElementById("app");
if (place) void start(place);
