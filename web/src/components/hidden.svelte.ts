// Which series of a section are hidden?
import { SvelteSet } from 'svelte/reactivity'

export default class Hidden {
  keys = new SvelteSet<string>()

  toggle(key: string) {
    if (!this.keys.delete(key)) this.keys.add(key)
  }
}
