// The search runs in a worker, and browsers start none from a file. For a site that is read from
// files this gives the theme a worker that lives in a hidden frame. Nothing is fetched from elsewhere.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(script) {
      super();
      this.url = String(script);
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = (this.window = frame.contentWindow);
      inside.document.open();
      inside.document.write("<!doctype html><title>search</title>");
      inside.document.close();
      // What the worker posts goes out of the frame, and what it loads is loaded into it.
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      inside.importScripts = async (...urls) => {
        for (const url of urls) await this.load(url);
      };
      this.load(this.url).then(() => {
        this.ready = true;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      });
    }
    load(url) {
      return new Promise((resolve, reject) => {
        const element = this.window.document.createElement("script");
        Object.assign(element, { src: url, onload: resolve, onerror: reject });
        this.window.document.head.append(element);
      });
    }
    postMessage(data) {
      if (!this.ready) this.waiting.push(data);
      else this.window.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {
      this.window.frameElement?.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
