// Is the page light or dark? As the reader's system says, unless the reader says otherwise here.

export type Mode = 'auto' | 'light' | 'dark'

const KEY = 'walkabout-theme'
const system = window.matchMedia('(prefers-color-scheme: dark)')

class Theme {
  mode = $state<Mode>(remembered())
  private systemDark = $state(system.matches)
  private printing = $state(false)
  dark = $derived(
    !this.printing && (this.mode === 'dark' || (this.mode === 'auto' && this.systemDark)),
  )

  constructor() {
    system.addEventListener('change', (event) => (this.systemDark = event.matches))
    // Paper is white.
    window.addEventListener('beforeprint', () => (this.printing = true))
    window.addEventListener('afterprint', () => (this.printing = false))
  }

  next() {
    this.mode = this.mode === 'auto' ? 'light' : this.mode === 'light' ? 'dark' : 'auto'
    try {
      localStorage.setItem(KEY, this.mode)
    } catch {
      // A file opened from disk may have no storage: then the choice lasts as long as the page.
    }
  }
}

function remembered(): Mode {
  try {
    const mode = localStorage.getItem(KEY)
    if (mode === 'light' || mode === 'dark') return mode
  } catch {
    // See above.
  }
  return 'auto'
}

export const theme = new Theme()

/** Shows the page in the theme's colours, as long as the component that calls this is there. */
export function followTheme() {
  $effect.pre(() => {
    document.documentElement.dataset['theme'] = theme.dark ? 'dark' : 'light'
  })
}
