// How are the two pages built? The report as one HTML file, nothing fetched; the dashboard
// (`--mode dashboard`) as a page with files beside it, no script within it, for the collector to serve.
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig, type UserConfig } from 'vite'
import { viteSingleFile } from 'vite-plugin-singlefile'
import { data } from './build/data.ts'
import { licencesInFile, licencesInPage } from './build/licences.ts'

const build = { target: 'es2022', modulePreload: false } as const

const report: UserConfig = {
  plugins: [svelte(), data('fixtures/walk.json'), viteSingleFile(), licencesInPage()],
  build: { ...build, outDir: 'dist/report' },
}

const dashboard: UserConfig = {
  plugins: [svelte(), licencesInFile('licences.txt')],
  build: {
    ...build,
    outDir: 'dist/dashboard',
    // An image within the page or the style would need `data:` to be allowed.
    assetsInlineLimit: 0,
    rolldownOptions: { input: 'dashboard.html' },
  },
  server: { proxy: { '/api': process.env['WALKABOUT_COLLECTOR'] ?? 'http://127.0.0.1:8080' } },
}

export default defineConfig(({ mode }) => (mode === 'dashboard' ? dashboard : report))
