// The one websocket of the page: it comes back by itself when the connection is lost.

import { banner } from "./dom.js";

const LONGEST_WAIT = 3000;

/** Talk with the server; `hear` is called with every message. Gives `send` and `stop`. */
export function connect(hear) {
  let socket = null;
  let wait = 250;
  let here = false; // whether the server has taken this page for the person's page before
  let stopped = false;
  let trouble = ""; // what the server said before it closed the connection

  function open() {
    if (stopped) return;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    socket = new WebSocket(`${scheme}://${location.host}/ws`);
    let opened = false;
    socket.addEventListener("open", () => {
      opened = true;
      send({ type: "hello", take_over: here });
    });
    socket.addEventListener("message", (event) => {
      const message = JSON.parse(event.data);
      if (message.type === "elsewhere" || message.type === "withdrawn") here = false;
      else if (message.type === "full") stopped = true;
      else if (message.type === "trouble") trouble = message.text;
      else if (message.type !== "error") {
        trouble = "";
        here = true;
        wait = 250;
        banner("");
      }
      if (trouble) banner(trouble);
      hear(message);
    });
    socket.addEventListener("close", () => {
      if (stopped) return;
      banner(trouble || "The connection is lost. Trying again …");
      hear({ type: "lost" });
      if (!opened) lookAgain();
      setTimeout(open, wait);
      wait = Math.min(2 * wait, LONGEST_WAIT);
    });
  }

  /** A server that answers but takes no websocket does not know this browser: let its page say so. */
  async function lookAgain() {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if ([401, 404].includes(answer.status)) {
        stopped = true;
        location.reload();
      }
    } catch {
      // It does not answer at all; we try again.
    }
  }

  function send(message) {
    if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  function stop() {
    stopped = true;
    if (socket) socket.close();
  }

  window.addEventListener("pagehide", () => socket && socket.close());
  window.addEventListener("pageshow", (event) => event.persisted && open());
  open();
  return { send, stop };
}
