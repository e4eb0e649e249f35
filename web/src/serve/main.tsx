/** Starts the app of `hypertwin serve`. */

import { render } from "preact";
import { App } from "./app";
import "../style.css";
import "./serve.css";

const place = document.getElementById("app");
if (place) render(<App />, place);
