// Which licences does the bundle carry? Those of every package that has code in it, whole.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin, Rolldown } from 'vite'

/** Puts the licence texts of the bundled packages into the page, in `<script id="licences">`. */
export function licencesInPage(): Plugin {
  return {
    name: 'walkabout-licences',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const text = texts(bundle).replaceAll('<', '‹').replaceAll('>', '›')
      for (const output of Object.values(bundle)) {
        if (output.type === 'asset' && output.fileName.endsWith('.html')) {
          const element = `<script type="text/plain" id="licences">\n${text}\n</script>`
          output.source = String(output.source).replace('</body>', () => `${element}\n</body>`)
        }
      }
    },
  }
}

/** Writes them into a file beside the page. */
export function licencesInFile(fileName: string): Plugin {
  return {
    name: 'walkabout-licences',
    enforce: 'post',
    generateBundle(_options, bundle) {
      this.emitFile({ type: 'asset', fileName, source: `${texts(bundle)}\n` })
    },
  }
}

function texts(bundle: Rolldown.OutputBundle): string {
  const packages = new Map<string, string>()
  for (const output of Object.values(bundle)) {
    if (output.type !== 'chunk') continue
    for (const [id, module] of Object.entries(output.modules)) {
      const folder = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replace(/^\0/, ''))?.[1]
      if (folder && module.renderedLength > 0) packages.set(folder, notice(folder))
    }
  }
  // Styles leave no module behind: uPlot's come with uPlot's code.
  return [...packages.values()].sort().join('\n\n')
}

function notice(folder: string): string {
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string
    version: string
    license?: string
  }
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name))
  if (!file || !existsSync(join(folder, file))) throw new Error(`${folder} has no licence file`)
  const text = readFileSync(join(folder, file), 'utf8').trim()
  return `${about.name} ${about.version} (${about.license ?? 'see below'})\n\n${text}`
}
