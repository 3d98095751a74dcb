"""python -m services.telemetry"""

from runtime.service import run_as_main
from services.telemetry.app import body

if __name__ == "__main__":
    run_as_main("telemetry", body)
