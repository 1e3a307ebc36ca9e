import { Gate } from './gate.mjs'
import { Member } from './member.mjs'

const AFTER_AN_ERROR_MS = 100

/**
 * A member of a client that its application polls. The client's file gives `poll()`, which waits as long as one poll may and returns messages
 * [{topic, partition, offset}], and calls `pollUntilClosed()` when its client is ready for polls; nobody awaits that.
 *
 * While the member is paused there are no polls, and the answer to `pause` waits for the one that is under way: its records are reported before.
 */
export class PollingMember extends Member {
  #polls = new Gate()
  #poll = Promise.resolve()

  async pollUntilClosed() {
    while (!this.isClosed) {
      await this.#polls.pass()
      if (this.isClosed) return
      this.#poll = this.#once()
      await this.#poll
    }
  }

  async #once() {
    try {
      await this.received(await this.poll())
    } catch (error) {
      if (this.isClosed) return
      this.failed(error)
      await this.wait(AFTER_AN_ERROR_MS)
    }
  }

  /** Report an error. After a fatal one the application polls no more, as one that ends, until `resume`. */
  failed(error, options) {
    const problem = super.failed(error, options)
    if (problem.fatal) this.#polls.shut()
    return problem
  }

  async pauseFlow() {
    this.#polls.shut()
    await this.#poll
  }

  async resumeFlow() {
    this.#polls.open()
  }

  async drained() {
    this.#polls.open()
    await this.#poll
  }
}
