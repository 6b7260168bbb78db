/** A page of a list. */
export interface Page<T> {
  items: T[]
  /** The cursor of the next page. The last page has none. */
  nextCursor?: string
}

/** A list that the server divides into pages. `for await` reads all items, and requests a page when it needs one. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #load: (cursor: string | undefined) => Promise<Page<T>>
  readonly #first: string | undefined

  constructor(load: (cursor: string | undefined) => Promise<Page<T>>, first: string | undefined) {
    this.#load = load
    this.#first = first
  }

  /** Returns the first page, or the one of the option cursor. */
  page(): Promise<Page<T>> {
    return this.#load(this.#first)
  }

  /** Returns the items of all pages. */
  async all(): Promise<T[]> {
    const items: T[] = []
    for await (const item of this) items.push(item)
    return items
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let cursor = this.#first
    do {
      const page = await this.#load(cursor)
      yield* page.items
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }
}
