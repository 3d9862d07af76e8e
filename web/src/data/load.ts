// Where does the page's data come from? From the script element it was rendered into.
import { STUDY_FORMAT, type StudyReport } from '../study/types'
import { FORMAT, type ReportData } from './types'

/** The data, or a sentence that says why there is none. */
export function load(): ReportData | StudyReport | string {
  const text = document.getElementById('walkabout-data')?.textContent
  if (!text || text.trim() === 'null') {
    return 'This page was opened without data. `walkabout report FOLDER` writes one with it.'
  }
  try {
    const data = JSON.parse(text) as ReportData | StudyReport
    if (data.format !== FORMAT && data.format !== STUDY_FORMAT) {
      const { format } = data as { format: string }
      return `This page reads ${FORMAT} and ${STUDY_FORMAT}, its data is ${format}. Write the report again with one version of walkabout.`
    }
    return data
  } catch (error) {
    return `The data in this page is damaged: ${String(error)}`
  }
}
