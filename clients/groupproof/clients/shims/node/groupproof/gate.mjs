/** Holds an application back while it is paused: its handler, or its next poll. */
export class Gate {
  #opened = null
  #open = () => {}

  get isShut() {
    return this.#opened !== null
  }

  shut() {
    this.#opened ??= new Promise((resolve) => (this.#open = resolve))
  }

  open() {
    this.#open()
    this.#opened = null
  }

  async pass() {
    while (this.#opened) await this.#opened // looked at again after each wait: it may have been shut once more
  }
}
