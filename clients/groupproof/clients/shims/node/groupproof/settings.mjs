/** The fields of `subscribe`; what no shim takes is listed as ignored in the answer. */
export class Settings {
  #fields
  #taken = new Set(['id', 'command', 'member'])

  constructor(command) {
    this.#fields = Object.fromEntries(Object.entries(command).filter(([, value]) => value !== null && value !== undefined))
  }

  take(name, otherwise) {
    this.#taken.add(name)
    return this.#fields[name] ?? otherwise
  }

  /** Take the given fields under the client's own names, leaving out those that were not given. */
  takeAll(names) {
    const given = Object.entries(names).filter(([field]) => field in this.#fields)
    return Object.fromEntries(given.map(([field, setting]) => [setting, this.take(field)]))
  }

  /** Take the assignors that the client has; of several asked, the client must have all, or the field counts as ignored. */
  takeAssignors(known) {
    const asked = this.take('assignors', [known[0]])
    const had = asked.filter((name) => known.includes(name))
    if (had.length < asked.length) this.ignore('assignors')
    return had.length > 0 ? had : [known[0]]
  }

  /** List a field as ignored although it was looked at: the client cannot have it so. */
  ignore(name) {
    this.#taken.delete(name)
  }

  get ignored() {
    return Object.keys(this.#fields).filter((name) => !this.#taken.has(name)).sort()
  }
}
