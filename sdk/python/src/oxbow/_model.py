from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Model(BaseModel):
    """An answer of the server. Fields that a newer server adds are kept as attributes."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, data: Any) -> Any:
        """Treats null as a missing value."""
        return {k: v for k, v in data.items() if v is not None} if isinstance(data, dict) else data
