// What does the page show while it is being developed? A fixture in the data's placeholder.
import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'

/** Puts `file` into the placeholder, in the development server only. */
export function data(file: string): Plugin {
  return {
    name: 'walkabout-data',
    apply: 'serve',
    transformIndexHtml: (html) =>
      html.replace('>null</script>', () => {
        const json = readFileSync(file, 'utf8').replaceAll('<', '\\u003c')
        return `>${json}</script>`
      }),
  }
}
