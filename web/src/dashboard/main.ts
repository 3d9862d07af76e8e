// How does the dashboard start?
import { mount } from 'svelte'
import 'uplot/dist/uPlot.min.css'
import '../app.css'
import Dashboard from './Dashboard.svelte'

const target = document.getElementById('app')
if (!target) throw new Error('dashboard.html has an element #app')
mount(Dashboard, { target })
