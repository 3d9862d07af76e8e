// How the page is built: everything in one HTML file, nothing fetched.
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'
import { viteSingleFile } from 'vite-plugin-singlefile'
import { data } from './build/data.ts'
import { licences } from './build/licences.ts'

export default defineConfig({
  plugins: [svelte(), data('fixtures/walk.json'), viteSingleFile(), licences()],
  build: { target: 'es2022', modulePreload: false },
})
