import RunLoopKit

Loop.main.run()
print("ended")
