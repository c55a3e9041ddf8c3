import { startDynamodb } from '../../../dev/dynamodb.ts'

const { endpoint } = await startDynamodb()
process.send!({ url: endpoint })
